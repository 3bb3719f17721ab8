"""Every operator PyTorch describes, on the device and on the CPU, compared."""
