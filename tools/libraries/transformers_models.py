"""Small models of transformers: forward, backward, generate, and a round trip through safetensors."""

import functools
import sys
import tempfile

import torch
import transformers as tf
from _model import draw, fill, gradient_norm, report

IDS = torch.tensor([[5, 9, 2, 7, 11, 3], [4, 8, 6, 10, 12, 13]])
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64)
TOKENS = dict(vocab_size=50, bos_token_id=1, eos_token_id=None, pad_token_id=0)


def bert():
    return tf.BertForMaskedLM(tf.BertConfig(**SMALL, **TOKENS)), dict(input_ids=IDS, labels=IDS)


def gpt2():
    config = tf.GPT2Config(n_layer=2, n_head=2, n_embd=32, n_positions=32, **TOKENS)
    return tf.GPT2LMHeadModel(config), dict(input_ids=IDS, labels=IDS)


def t5():
    config = tf.T5Config(d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, decoder_start_token_id=0, **TOKENS)
    return tf.T5ForConditionalGeneration(config), dict(input_ids=IDS, labels=IDS)


def llama():
    config = tf.LlamaConfig(**SMALL, num_key_value_heads=1, **TOKENS)
    return tf.LlamaForCausalLM(config), dict(input_ids=IDS, labels=IDS)


def vit():
    config = tf.ViTConfig(**SMALL, image_size=32, patch_size=8, num_labels=5)
    return tf.ViTForImageClassification(config), dict(pixel_values=draw(2, 3, 32, 32), labels=torch.tensor([1, 4]))


def whisper():
    config = tf.WhisperConfig(
        d_model=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=64, decoder_ffn_dim=64, num_mel_bins=8, max_source_positions=16, max_target_positions=24,
        decoder_start_token_id=1, suppress_tokens=None, begin_suppress_tokens=None, **TOKENS,
    )
    return tf.WhisperForConditionalGeneration(config), dict(input_features=draw(2, 8, 32), labels=IDS)


MODELS = [bert, gpt2, t5, llama, vit, whisper]


def measure(build):
    """The values of one model that must not depend on the library beneath."""
    model, batch = build()
    fill(model)
    model.eval()
    output = model(**batch)
    output.loss.backward()
    values = {"loss": float(output.loss), "logits": output.logits.flatten()[::7].tolist(),
              "gradient": gradient_norm(model)}
    if model.can_generate():
        values |= generate(model, next(iter(batch.values())))
    values["reloaded"] = reload(model)(**batch).logits.flatten()[::7].tolist()
    return values


def generate(model, prompt):
    """Tokens, by the greatest probability and by draws."""
    greedy = model.generate(prompt, max_new_tokens=6, do_sample=False)
    beams = model.generate(prompt, max_new_tokens=6, do_sample=False, num_beams=2)
    torch.manual_seed(0)
    drawn = model.generate(prompt, max_new_tokens=6, do_sample=True, top_k=20, top_p=0.9, temperature=1.5)
    return {"greedy": greedy.tolist(), "beams": beams.tolist(), "drawn": drawn.tolist()}


def reload(model):
    """The model that comes back from a folder it was saved to."""
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        return type(model).from_pretrained(folder).eval()


if __name__ == "__main__":
    tf.logging.set_verbosity_error()
    tf.logging.disable_progress_bar()
    for build in MODELS:
        if build.__name__ in sys.argv[1:] or not sys.argv[1:]:
            report(build.__name__, functools.partial(measure, build))
