"""A decoder in plain PyTorch, and the same on torch.ops.xcpu: docs/xcpu.md."""
