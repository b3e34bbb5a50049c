-- tests/rules/aten/rnn.lua: what the rules in rules/aten/rnn.lua build.

return {
  namespace = "aten",
  { "gru.input", { input = "f32[2, 5, 3]", hx = "f32[1, 2, 2]", params = { "f32[6, 3]", "f32[6, 2]" }, has_biases = false, num_layers = 1, dropout = 0.0, train = false, bidirectional = false, batch_first = true }, { "f32[2, 5, 2]", "f32[1, 2, 2]" },
    want = { "Transpose(Squeeze(%1=GRU(Transpose(input, perm={1, 0, 2}), Unsqueeze(Concat(%2=Split(params_1, {2, 2, 2}, axis=0).2, %2, %2.3, axis=0), {0}), Unsqueeze(Concat(%3=Split(params_2, {2, 2, 2}, axis=0).2, %3, %3.3, axis=0), {0}), -, -, hx, hidden_size=2, linear_before_reset=1), {1}), perm={1, 0, 2})", "%1.2" } },
  { "lstm.input", { input = "f32[2, 5, 3]", hx = { "f32[1, 2, 2]", "f32[1, 2, 2]" }, params = { "f32[8, 3]", "f32[8, 2]" }, has_biases = false, num_layers = 1, dropout = 0.0, train = false, bidirectional = false, batch_first = true }, { "f32[2, 5, 2]", "f32[1, 2, 2]", "f32[1, 2, 2]" },
    want = { "Transpose(Squeeze(%1=LSTM(Transpose(input, perm={1, 0, 2}), Unsqueeze(Concat(%2=Split(params_1, {2, 2, 2, 2}, axis=0), %2.4, %2.2, %2.3, axis=0), {0}), Unsqueeze(Concat(%3=Split(params_2, {2, 2, 2, 2}, axis=0), %3.4, %3.2, %3.3, axis=0), {0}), -, -, hx_1, hx_2, hidden_size=2), {1}), perm={1, 0, 2})", "%1.2", "%1.3" } },
  { "lstm_cell", { input = "f32[2, 8]", hx = { "f32[2, 16]", "f32[2, 16]" }, w_ih = "f32[64, 8]", w_hh = "f32[64, 16]", b_ih = "f32[64]", b_hh = "f32[64]" }, { "f32[2, 16]", "f32[2, 16]" },
    want = { "Mul(Sigmoid(%1=Split(Add(Gemm(input, w_ih, b_ih, transB=1), Gemm(hx_1, w_hh, b_hh, transB=1)), {16, 16, 16, 16}, axis=1).4), Tanh(%2=Add(Mul(Sigmoid(%1.2), hx_2), Mul(Sigmoid(%1), Tanh(%1.3)))))", "%2" } },
  { "rnn_tanh.input", { input = "f32[5, 2, 3]", hx = "f32[1, 2, 4]", params = { "f32[4, 3]", "f32[4, 4]", "f32[4]", "f32[4]" }, has_biases = true, num_layers = 1, dropout = 0.0, train = false, bidirectional = false, batch_first = false }, { "f32[5, 2, 4]", "f32[1, 2, 4]" },
    want = { "Squeeze(%1=RNN(input, Unsqueeze(params_1, {0}), Unsqueeze(params_2, {0}), Unsqueeze(Concat(params_3, params_4, axis=0), {0}), -, hx, hidden_size=4), {1})", "%1.2" } },
}
