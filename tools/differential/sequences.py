"""Programs of layers for sequences: recurrent ones and their cells, packed sequences, attention, embeddings."""

from . import cases
from .cases import Case, function, layer

OPTIONS = "{|, num_layers=2}{|, bidirectional=True}{|, batch_first=True}{|, bias=False}{|, dropout=0.5|, dropout=0.0}"
SEQUENCE = "{3|1|0}, {2, |1, |}4"
PACKED = "torch.nn.utils.rnn.pack_padded_sequence({x}, {[3, 1]|[3, 3]|[2, 3]}, enforce_sorted={False|True}{|, batch_first=True})"
RECURRENT = [
    layer(f"RNN(4, 2{{|, nonlinearity='relu'}}{OPTIONS})", SEQUENCE),
    layer(f"GRU(4, 2{OPTIONS})", SEQUENCE),
    layer(f"LSTM(4, 2{OPTIONS}{{|, proj_size=1}})", SEQUENCE),
    layer("RNN(4, 2)", "3, 2, 4", "{1, |}2, 2"),
    layer("GRU(4, 2{|, num_layers=2})", "3, 2, 4", "{1|2}, {2|1}, 2"),
    layer("LSTM(4, 2{|, bidirectional=True})", "3, 2, 4", "{1|2}, 2, 2", "{1|2}, 2, 2", call="{m}({x}, ({x2}, {x3}))"),
    *[layer(f"{name}(4, 2{OPTIONS})", "3, 2, 4", call="{m}(" + PACKED + ")") for name in ("RNN", "GRU", "LSTM")],
    layer("LSTM(4, 3, proj_size=2)", "3, 2, 4", call="{m}(" + PACKED + ")"),
    layer("RNNCell(4, 2{|, nonlinearity='relu'}{|, bias=False})", "{2, |0, |}4"),
    layer("RNNCell(4, 2)", "{2, |}4", "{2, |}2"),
    layer("GRUCell(4, 2{|, bias=False})", "{2, |0, |}4"),
    layer("GRUCell(4, 2)", "{2, |}4", "{2, |}2"),
    layer("LSTMCell(4, 2{|, bias=False})", "{2, |0, |}4"),
    *[layer("LSTMCell(4, 2)", f"={batch}4", f"={batch}2", f"={batch}2", call="{m}({x}, ({x2}, {x3}))") for batch in ("2, ", "")],
    layer("RNNBase('{LSTM|GRU|RNN_TANH|RNN_RELU|other}', 4, 2{|, num_layers=2})", "3, 2, 4"),
    layer("GRU(4, 2)", "3, 2, 4", call="{m}.flatten_parameters() or {m}({x})"),
]
PACKING = [
    Case("", ("3, 2, 4",), PACKED),
    Case("", ("3, 2, 4",), f"torch.nn.utils.rnn.pad_packed_sequence({PACKED}{{|, batch_first=True}}{{|, padding_value=2.0}}{{|, total_length=4}})"),
    Case("", ("3, 2, 4",), f"torch.nn.utils.rnn.unpack_sequence({PACKED})"),
    Case("", ("3, 4", "{2|3|4}, 4"), "torch.nn.utils.rnn.pack_sequence([{x}, {x2}], enforce_sorted={False|True})"),
    Case("", ("3, 4", "{2|3|4|0}, 4"), "torch.nn.utils.rnn.pad_sequence([{x}, {x2}]{|, batch_first=True}{|, padding_value=2.0}"
         "{|, padding_side='left'})"),
    Case("", ("3, 2, 4",), "torch.nn.utils.rnn.unpad_sequence({x} * 1, torch.tensor({[3, 1]|[2, 2]}){|, batch_first=True})"),
    Case("", ("3, 2, 4",), f"{PACKED}.{{to(torch.float64)|double()|half()|cpu()|is_cuda|is_pinned()|float()}}"),
    Case("", (), "torch.nn.utils.rnn.invert_permutation({torch.tensor([2, 0, 1])|None})"),
]
MASK = "torch.tensor([[{0.|1.}, float('-inf'), 0.], [0., 0., {0.|float('-inf')}], [{0.|2.}, 0., 0.]])"
BOOLS = "torch.tensor([[False, True, {False|True}], [False, False, {False|True}], [True, False, False]])"
PADDING = "torch.tensor([[False, False, {True|False}], [False, {True|False}, {True|False}]])"
EMBED = "3, 2, 4"
ATTENTION = [
    layer("""MultiheadAttention(4, {2|1|4|3}{|, bias=False}{|, add_bias_kv=True}{|, add_zero_attn=True}{|, dropout=0.5}{|,
          batch_first=True})""", "3, {2, |}4", call="{m}({x}, {x}, {x}{|, need_weights=False}{|, average_attn_weights=False})"),
    layer("MultiheadAttention(4, 2{|, batch_first=True}{|, kdim=2, vdim=3})", "3, {2, |}4", "5, {2, |}{4|2}", "5, {2, |}{4|3}",
          call="{m}({x}, {x2}, {x3})"),
    *[layer("MultiheadAttention(4, 2{|, add_zero_attn=True}{|, add_bias_kv=True})", EMBED, mask,
            call="{m}({x}, {x}, {x}, attn_mask={x2}{|, need_weights=False}{|, is_causal=True})") for mask in (MASK, BOOLS)],
    layer("MultiheadAttention(4, 2{|, add_zero_attn=True}{|, add_bias_kv=True})", EMBED, PADDING,
          call="{m}({x}, {x}, {x}, key_padding_mask={x2}{|, need_weights=False}{|, average_attn_weights=False})"),
    layer("""TransformerEncoderLayer(4, {2|1}, 8, dropout={0.0|0.5}{|, activation='gelu'|,
          activation=torch.nn.functional.silu}{|, norm_first=True}{|, batch_first=True}{|, bias=False}{|,
          layer_norm_eps=0.1})""", "3, {2, |}4"),
    *[layer("TransformerEncoderLayer(4, 2, 8, dropout=0.0{|, norm_first=True})", EMBED, mask, call="{m}({x}, src_mask={x2}{|, is_causal=True})")
      for mask in (MASK, BOOLS)],
    layer("TransformerEncoderLayer(4, 2, 8, dropout=0.0)", EMBED, PADDING, call="{m}({x}, src_key_padding_mask={x2})"),
    layer("TransformerDecoderLayer(4, 2, 8, dropout={0.0|0.5}{|, activation='gelu'}{|, norm_first=True}{|, batch_first=True}{|, bias=False})",
          "3, 2, 4", "{3|5}, 2, 4"),
    layer("TransformerDecoderLayer(4, 2, 8, dropout=0.0)", EMBED, EMBED, MASK,
          call="{m}({x}, {x2}, {tgt_mask|memory_mask}={x3}{|, tgt_is_causal=True})"),
    layer("TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), {2|1}{|, norm=torch.nn.LayerNorm(4)}"
          "{|, enable_nested_tensor=False})", EMBED, call="{m}({x}{|, is_causal=False})"),
    layer("TransformerEncoder(torch.nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), 2)", EMBED, MASK, call="{m}({x}, mask={x2})"),
    layer("TransformerDecoder(torch.nn.TransformerDecoderLayer(4, 2, 8, dropout=0.0), {2|1}{|, norm=torch.nn.LayerNorm(4)})", EMBED, EMBED),
    layer("""Transformer(4, 2, {1|2|0}, 1, 8, dropout=0.0{|, activation='gelu'}{|, norm_first=True}{|, batch_first=True}{|,
          bias=False})""", EMBED, "{3|2}, 2, 4"),
    layer("Transformer(4, 2, 1, 1, 8, dropout=0.0)", EMBED, EMBED,
          call="{m}({x}, {x2}, {src|tgt}_mask={m}.generate_square_subsequent_mask(3){|, tgt_is_causal=True})"),
    function("scaled_dot_product_attention({x}, {x2}, {x3}{|, is_causal=True}{|, scale=0.5})", "{2, |1, 2, |}3, 4", "{2, |1, 2, |}3, 4",
             "{2, |1, 2, |}3, {4|2}"),
    function("scaled_dot_product_attention({x}, {x2}, {x2}, {x3}{|, dropout_p=0.5})", "{2, |}3, 4", "{2, |}3, 4", MASK),
    function("scaled_dot_product_attention({x}, {x2}, {x2}, enable_gqa=True)", "1, {4|2}, 3, 4", "1, 2, 3, 4"),
    function("multi_head_attention_forward({x}, {x}, {x}, 4, 2, {x2}, None, None, None, False, 0.0, {x3}, None{|, need_weights=False})",
             EMBED, "12, 4", "4, 4"),
]
INDICES = "torch.tensor({[[0, 2], [1, 1]]|[2, 0, 1]|[]|[[2, 2, 2]]|[0, 5]|[1, -1]|1}, dtype=torch.{int64|int32|int64|int16|float32})"
EMBEDDINGS = [
    layer("Embedding(5, 3{|, padding_idx=1|, padding_idx=-1}{|, max_norm=1.0}{|, norm_type=1.0}{|, scale_grad_by_freq=True})", INDICES),
    layer("Embedding.from_pretrained(torch.arange(12.).sin().reshape(4, 3){|, freeze=False}{|, padding_idx=1})", INDICES),
    layer("EmbeddingBag(5, 3{|, mode='sum'|, mode='max'}{|, padding_idx=1}{|, max_norm=1.0}{|, scale_grad_by_freq=True})",
          "torch.tensor({[[0, 2], [1, 1]]|[[2], [0]]|[[1, 1]]|[2, 0]}, dtype=torch.{int64|int32})"),
    layer("EmbeddingBag(5, 3{|, mode='sum'|, mode='max'}{|, padding_idx=1})", "torch.tensor([0, 2, 1, 1])",
          "torch.tensor({[0, 2]|[0, 1, 4]|[0, 0, 4]|[0]|[1, 2]|[0, 5]})"),
    layer("EmbeddingBag(5, 3, include_last_offset=True{|, mode='sum'|, mode='max'}{|, padding_idx=1})",  # with [0] PyTorch would crash
          "torch.tensor([0, 2, 1, 1])", "torch.tensor({[0, 2]|[0, 1, 4]|[0, 0, 4]|[1, 2]|[0, 5]})"),
    layer("EmbeddingBag(5, 3, mode='{sum|mean}')", "torch.tensor([[0, 2], [1, 1]])", "2, 2", call="{m}({x}, per_sample_weights={x2})"),
    layer("EmbeddingBag.from_pretrained(torch.arange(12.).sin().reshape(4, 3){|, mode='sum'})", "torch.tensor([[0, 2], [1, 1]])"),
    function("embedding({x}, {x2}{|, padding_idx=0}{|, scale_grad_by_freq=True})", INDICES, "5, 3"),
    function("embedding({x}, {x2}.detach(){|, max_norm=0.5|, max_norm=0.5, norm_type=1})", INDICES, "5, 3"),
    function("embedding_bag({x}, {x2}{|, mode='sum'|, mode='max'}{|, padding_idx=1})", "torch.tensor([[0, 2], [1, 1]])", "5, 3"),
    function("one_hot({x}{|, 5|, num_classes=2})", "torch.tensor({[0, 2]|[[1, 1]]|[]|3|[-1]|[0.5]})"),
]
TABLE = [*RECURRENT, *PACKING, *ATTENTION, *EMBEDDINGS]


def write(writer):
    cases.write(writer, TABLE)
