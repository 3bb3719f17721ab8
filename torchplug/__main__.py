"""`python -m torchplug` is `torchplug`."""

import sys

from torchplug.cli import main

sys.exit(main())
