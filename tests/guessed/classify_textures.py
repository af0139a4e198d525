"""Classify textures by wavelet features, in a scikit-learn pipeline with a grid search."""

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from subband.sklearn import WaveletFeatures

rng = np.random.default_rng(0)
rough = rng.standard_normal((40, 32, 32))
smooth = np.cumsum(rng.standard_normal((40, 32, 32)), axis=2) / 4
images = np.concatenate([rough, smooth]).reshape(80, -1)
labels = np.repeat([0, 1], 40)

model = make_pipeline(WaveletFeatures(wavelet="db2", level=2, shape=(32, 32)), StandardScaler(), LogisticRegression())
search = GridSearchCV(model, {"waveletfeatures__level": [1, 2], "waveletfeatures__wavelet": ["haar", "db2"]}, cv=3)
search.fit(images, labels)
assert search.best_score_ > 0.9
names = search.best_estimator_[0].get_feature_names_out()
assert len(names) == search.best_estimator_[0].transform(images[:1]).shape[1]
