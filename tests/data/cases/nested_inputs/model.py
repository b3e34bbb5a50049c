from torch import nn


class Model(nn.Module):
    def forward(self, pair, named):
        pair_0, pair_1 = pair
        named_a = named["a"]
        named_b = named["b"]
        return {"sum": pair_0 + named_b, "rest": [pair_1 - named_a]}


def load(path=None) -> Model:
    """The model with its weights, by default those in the file beside this one."""
    model = Model()
    return model.eval()
