"""Network -> what one step of training it calls."""

from .capture import CaptureError, Training, capture
from .step import Call, Step, TensorInfo

__all__ = ["Call", "CaptureError", "Step", "TensorInfo", "Training", "capture"]
