"""`python -m torchplug.bench` is `torchplug bench`."""

import sys

from torchplug.bench import main

sys.exit(main())
