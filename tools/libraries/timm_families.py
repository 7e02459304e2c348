"""One small model of every file in timm/models, at a small resolution: forward and backward."""

import functools
import sys

import timm
from _model import draw, fill, gradient_norm, report

FAMILIES = [
    "beit_base_patch16_224", "halonet26t", "test_byobnet", "cait_xxs24_224", "coat_tiny", "convit_tiny",
    "convmixer_768_32", "test_convnext", "cpubone_nano", "crossvit_tiny_240", "csatv2", "cs3darknet_s",
    "davit_tiny", "deepseek_vit_412m", "deit_tiny_patch16_224", "densenet264d", "dla34", "dpn68",
    "edgenext_xx_small", "efficientformer_l1", "efficientformerv2_s0", "test_efficientnet", "efficientvim_m1",
    "efficientvit_b0", "efficientvit_m0", "eva02_tiny_patch14_224", "fasternet_s", "fastvit_s12",
    "focalnet_tiny_lrf", "gcvit_tiny", "gemma4_vit_167m", "ghostnet_050", "hardcorenas_a", "hgnet_tiny",
    "hiera_tiny_224", "sam2_hiera_tiny", "hrnet_w18_small", "iformer_s", "inception_next_atto",
    "inception_resnet_v2", "inception_v3", "inception_v4", "lcnetv2_small", "levit_384_s8", "lowformer_b0",
    "test_mambaout", "maxvit_pico_rw_256", "caformer_s18", "gmlp_s16_224", "lcnet_050", "mobilenetv5_base",
    "mobilevit_xxs", "mvitv2_tiny", "naflexvit_base_patch16_siglip", "nasnetalarge", "nest_tiny", "nextvit_small",
    "test_nfnet", "pit_xs_224", "pnasnet5large", "pvt_v2_b0", "qwen3_vit_88m", "rdnet_tiny", "regnetv_040",
    "repghostnet_050", "repvit_m0_9", "res2net50_26w_4s", "resnest26d", "test_resnet", "resnetv2_18",
    "rexnet_100", "selecsls42", "legacy_seresnet18", "sequencer2d_s", "shvit_s1", "skresnet18", "starnet_s050",
    "swiftformer_xs", "swin_s3_tiny_224", "swinv2_tiny_window8_256", "swinv2_cr_tiny_224", "tiny_vit_5m_224",
    "tnt_s_patch16_224", "tresnet_l", "twins_svt_small", "vgg11", "visformer_tiny", "test_vit",
    "vit_tiny_r_s16_p8_224", "vit_relpos_small_patch16_224", "samvit_base_patch16_224", "vitamin_small_224",
    "volo_d1_224", "ese_vovnet19b_slim", "legacy_xception", "xception41", "xcit_nano_12_p8_224",
]
SHALLOW = {"deepseek_vit_412m": {"depth": 2}, "gemma4_vit_167m": {"depth": 2}, "qwen3_vit_88m": {"depth": 2}}
RESOLUTIONS = {"halonet26t": (256, 256)}  # what its blocks divide
# With these weights their gradients are so large that float32 keeps two digits, in PyTorch too.
DOUBLE = {"efficientvit_m0", "nextvit_small", "visformer_tiny"}


def measure(name):
    """Outputs and the norm of all gradients."""
    model = timm.create_model(name, num_classes=10, **SHALLOW.get(name, {})).eval()
    fill(model)
    images = draw(2, 3, *RESOLUTIONS.get(name, resolution(model.default_cfg)))
    if name in DOUBLE:
        model, images = model.double(), images.double()
    output = model(images)
    output = output[0] if isinstance(output, (tuple, list)) else output
    output.pow(2).mean().backward()
    return {"output": output.flatten().tolist(), "gradient": gradient_norm(model)}


def resolution(config):
    """The model's own height and width, or 96, if other sizes are possible."""
    size = config.get("input_size", (3, 224, 224))[1:]
    return size if config.get("fixed_input_size") or size[0] % 32 else tuple(min(side, 96) for side in size)


if __name__ == "__main__":
    for name in sys.argv[1:] or FAMILIES:
        report(name, functools.partial(measure, name))
