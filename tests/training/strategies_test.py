"""Strategies by name.

Those that need several devices run in processes of their own: see stage1_step_test.
"""

import pytest
import tensorflow as tf

from anchornet_tf.training import strategies


def test_one_device_is_the_default(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    where = strategies.make("auto")
    assert where.num_replicas_in_sync == 1 and strategies.is_chief(where)
    elements = strategies.distribute(
        where, lambda shards, index: tf.data.Dataset.range(3).map(lambda x: x + shards)
    )
    assert [int(element) for element in elements] == [1, 2, 3]


def test_bad_names(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(ValueError, match="Received: 'cloud'"):
        strategies.make("cloud")
    with pytest.raises(ValueError, match="TF_CONFIG"):
        strategies.make("multiworker")
