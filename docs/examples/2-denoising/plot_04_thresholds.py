"""
Hard, soft, garrote and firm thresholds
=======================================

What a rule makes of a coefficient. Soft thresholds leave no jump, and make everything smaller; hard ones keep
what is large as it is. The garrote and firm rules lie between.
"""

import matplotlib.pyplot as plt
import numpy as np

import subband

values = np.linspace(-4, 4, 801)
rules = {mode: subband.threshold(values, 1.5, mode) for mode in ("hard", "soft", "garrote")}
rules["firm"] = subband.threshold_firm(values, 1.5, 3.0)

figure, axes = plt.subplots(1, 4, figsize=(10, 2.9), sharey=True, layout="constrained")
for panel, (name, result) in zip(axes, rules.items(), strict=True):
    panel.plot(values, values, color="0.8")
    panel.plot(values, result)
    panel.set(title=name, aspect="equal", xlabel="coefficient")
plt.show()
