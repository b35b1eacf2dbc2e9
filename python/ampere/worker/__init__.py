"""The worker of the protocol, in the user's own PyTorch."""
