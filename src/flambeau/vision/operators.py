"""The operators of ``torch.ops.torchvision``."""

from .boxes import nms
from .deform import deform_conv2d
from .roi import ps_roi_align, ps_roi_pool, roi_align, roi_pool

# torchvision's own backward operators. They are unused here, as gradients are recorded.
BACKWARD = ("roi_align", "roi_pool", "ps_roi_align", "ps_roi_pool", "deform_conv2d")
NOT_SUPPORTED = ("qnms", "qroi_align", "box_iou_rotated")

OPERATORS = {
    "nms": nms,
    "roi_align": roi_align,
    "roi_pool": roi_pool,
    "ps_roi_align": ps_roi_align,
    "ps_roi_pool": ps_roi_pool,
    "deform_conv2d": deform_conv2d,
    "_cuda_version": lambda: -1,
} | dict.fromkeys([*(f"_{name}_backward" for name in BACKWARD), *NOT_SUPPORTED])
