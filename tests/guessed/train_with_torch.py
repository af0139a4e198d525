"""Put a wavelet transform inside a Torch model and train through it."""

import torch
from torch import nn

import subband
from subband.torch import DWT2, IDWT2


class WaveletShrinkage(nn.Module):
    def __init__(self):
        super().__init__()
        self.forward_transform = DWT2("db2")
        self.inverse_transform = IDWT2("db2")
        self.weight = nn.Parameter(torch.ones(()))

    def forward(self, x):
        low, high = self.forward_transform(x)
        high = [h * self.weight for h in high]
        return self.inverse_transform((low, high))


torch.manual_seed(0)
clean = torch.rand(2, 1, 32, 32).cumsum(-1) / 16
noisy = clean + 0.2 * torch.randn_like(clean)
model = WaveletShrinkage()
assert torch.allclose(model(noisy), noisy, atol=1e-4)
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
losses = []
for _ in range(20):
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(noisy), clean)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0]

approximation, (horizontal, vertical, diagonal) = subband.dwt2(noisy, "haar")
assert isinstance(diagonal, torch.Tensor) and diagonal.shape == (2, 1, 16, 16)
x = noisy.clone().requires_grad_()
sum(band.abs().sum() for band in subband.dwt2(x, "haar")[1]).backward()
assert x.grad is not None and x.grad.shape == x.shape
