import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        y = x + torch.arange(x.shape[1], device=x.device).unsqueeze(-1) * 2
        y_2 = x.new_zeros((x.shape[0], x.shape[1] + 1))
        y_3 = x[:, -1]
        y_4 = x[:, :x.shape[1] // 2]
        y_5 = x.sum() / (x.shape[1] * x.shape[0])
        y_6 = x.expand(2, x.shape[0], x.shape[1], 6)[1]
        return y, y_2, y_3, y_4, y_5, y_6, x.view(-1, 6), x.flatten(0)


def load(path=None) -> Model:
    """The model with its weights, by default those in the file beside this one."""
    model = Model()
    return model.eval()
