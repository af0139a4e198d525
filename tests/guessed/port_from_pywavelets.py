"""Run a program that was written for PyWavelets, with only its import changed."""

import numpy as np

import subband as pywt

x = np.cumsum(np.random.default_rng(0).standard_normal(300))

w = pywt.Wavelet("sym5")
print(w.name, w.dec_len, w.orthogonal, w.biorthogonal, w.vanishing_moments_psi)
phi, psi, grid = w.wavefun(level=5)
assert phi.shape == psi.shape == grid.shape

level = pywt.dwt_max_level(len(x), w.dec_len)
coeffs = pywt.wavedec(x, w, mode="periodization", level=level)
sigma = np.median(np.abs(coeffs[-1])) / 0.6745
uthresh = sigma * np.sqrt(2 * np.log(len(x)))
coeffs[1:] = [pywt.threshold(c, value=uthresh, mode="soft") for c in coeffs[1:]]
smooth = pywt.waverec(coeffs, w, mode="periodization")
assert smooth.shape == x.shape

packet = pywt.WaveletPacket(data=x, wavelet="db1", mode="symmetric", maxlevel=3)
paths = [node.path for node in packet.get_level(3, "freq")]
assert paths[:3] == ["aaa", "aad", "add"]
assert np.allclose(packet["ad"].data, pywt.downcoef("d", pywt.downcoef("a", x, "db1"), "db1"))

scales = np.geomspace(2, 64, 20)
coef, freqs = pywt.cwt(x, scales, "cmor1.5-1.0", sampling_period=0.01)
assert coef.shape == (20, 300) and freqs[0] > freqs[-1]
assert np.isclose(pywt.scale2frequency("cmor1.5-1.0", scales[0]) / 0.01, freqs[0])

parts = (
    pywt.mra(x, "db2", level=3, transform="swt") if len(x) % 8 == 0 else pywt.mra(x, "db2", level=3, transform="dwt")
)
assert np.allclose(pywt.imra(parts), x)

array, slices = pywt.coeffs_to_array(pywt.wavedecn(np.ones((16, 16, 8)), "haar"))
back = pywt.waverecn(pywt.array_to_coeffs(array, slices, output_format="wavedecn"), "haar")
assert np.allclose(back, 1)
assert "symmetric" in pywt.Modes.modes
assert pywt.pad(x, 4, "reflect").shape == (308,)
