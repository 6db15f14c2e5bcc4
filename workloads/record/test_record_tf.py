"""Tests of the recorder of TensorFlow: python3 -m unittest test_record_tf (needs TensorFlow and Keras 2; no GPU)."""
import contextlib
import io
import json
import os
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
try:
    import record_tf
    import recorder_tf  # noqa: F401
    import tf_keras  # noqa: F401
except ImportError:
    record_tf = None
NEEDS = unittest.skipUnless(record_tf, "TensorFlow is not installed: pip install tensorflow-cpu tf_keras")

PROGRAMS = '''
import recorder_tf
import tensorflow as tf
import tf_keras as keras
from record_tf import Program


def perceptron(batch=8):
    model = keras.Sequential([keras.layers.Dense(40, activation="relu", input_shape=(24,)), keras.layers.Dense(5)])
    loss = keras.losses.MeanSquaredError()
    truth = tf.zeros((batch, 5))
    return Program(model, tf.zeros((batch, 24)), lambda y: loss(truth, y), keras.optimizers.legacy.SGD(0.1), "by hand")


class Reads(keras.Model):
    def build(self, shape):
        self.dense = keras.layers.Dense(4)

    def call(self, x, training=False):
        y = self.dense(x)
        return y if tf.reduce_max(y) > 0 else -y


def reads(batch=8):
    return Program(Reads(), tf.zeros((batch, 4)))


def uneven(batch=8):
    model = keras.Sequential([keras.layers.Dense(4, input_shape=(4,))] * (1 + batch % 2))
    return Program(model, tf.zeros((batch, 4)))
'''


@NEEDS
class Recordings(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.programs = os.path.join(cls.folder.name, "tf_programs_for_tests.py")
        with open(cls.programs, "w") as file:
            file.write(PROGRAMS)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def run_main(self, *arguments):
        error = io.StringIO()
        with contextlib.redirect_stderr(error):
            code = record_tf.main(list(arguments))
        return code, error.getvalue()

    def record(self, name, task):
        out = os.path.join(self.folder.name, f"{name}-{task}.json")
        code, error = self.run_main(f"{self.programs}:{name}", "--task", task, "--out", out)
        self.assertEqual(code, 0, error)
        with open(out) as file:
            return json.load(file)

    def rows(self, network, *names):
        return [row for row in network["ops"] if row["op"] in names]

    def dims(self, network, argument):
        return network["tensors"][argument["t"]][1]

    def kind(self, network, tensor):
        return network["storages"][network["tensors"][tensor][3]]

    def test_training_step(self):
        network = self.record("perceptron", "train")
        self.assertEqual(network["framework"], "tensorflow")
        self.assertEqual(network["optimizer"], "sgd")
        products = self.rows(network, "MatMul")
        # Two forward, and two gradients each but for that of the input.
        self.assertEqual([row["phase"] for row in products], ["forward"] * 2 + ["backward"] * 3)
        self.assertEqual(self.dims(network, products[0]["args"][0]), ["batch", 24])
        self.assertEqual(self.dims(network, products[0]["args"][1]), [24, 40])
        self.assertEqual(products[-1]["args"][2:4], [True, False])  # transpose_a, transpose_b
        self.assertEqual(products[-1]["seq"], products[0]["seq"])
        self.assertEqual(network["modules"][products[0]["module"]], network["modules"][products[-1]["module"]])
        applied = self.rows(network, "ResourceApplyGradientDescent")
        self.assertEqual(len(applied), 4)
        for row in applied:
            self.assertEqual(self.kind(network, row["args"][0]["t"]), "parameter")
            self.assertEqual(self.kind(network, row["args"][2]["t"]), "gradient")
            self.assertEqual(self.kind(network, row["out"][0]), "parameter")

    def test_host_memory(self):
        network = self.record("perceptron", "train")
        sizes = self.rows(network, "Shape")
        self.assertGreater(len(sizes), 0)
        for row in sizes:
            self.assertEqual(self.kind(network, row["out"][0]), "host")

    def test_views_share_memory(self):
        network = self.record("perceptron", "train")
        views = self.rows(network, "Reshape", "Identity")
        self.assertGreater(len(views), 0)
        for row in views:
            of, to = row["args"][0]["t"], row["out"][0]
            self.assertEqual(network["tensors"][of][3], network["tensors"][to][3])

    def test_values_that_python_reads(self):
        network = self.record("reads", "infer")
        self.assertEqual(len(self.rows(network, "TFE_TensorHandleResolve")), 1)

    def test_programs_that_cannot_be_recorded(self):
        code, error = self.run_main(f"{self.programs}:uneven", "--task", "infer")
        self.assertEqual(code, 2)
        self.assertIn("expected", error)
        code, error = self.run_main(f"{self.programs}:nothing")
        self.assertEqual(code, 2)
        self.assertIn("program", error)
        self.assertEqual(self.run_main("--all", "tf_nothing")[0], 2)


if __name__ == "__main__":
    unittest.main()
