"""TensorFlow programs that record_tf.py records: the workloads of the papers, on Keras 2.

Every function takes the symbols of its network and their default values, and gives a Program.
"""
import recorder_tf  # noqa: F401  (chooses Keras 2 before TensorFlow is imported)

import tensorflow as tf
import tf_keras as keras
from tf_keras import layers

from record_tf import Program

BOTH, TRAIN = ("train", "infer"), ("train",)
NETWORKS = {"tf_lenet5": BOTH, "tf_resnet50": BOTH, "tf_bert": BOTH, "tf_dlrm": TRAIN,
            "tf_resnet50_amp": BOTH, "tf_bert_amp": BOTH, "tf_dlrm_amp": TRAIN,
            "tf_resnet50_v1_5": TRAIN, "tf_resnet50_v1_5_amp": TRAIN}


def sgd():
    """Kernels of one variable each (ResourceApplyKerasMomentum), as TensorFlow 2.8's SGD has them."""
    return keras.optimizers.legacy.SGD(0.1, momentum=0.9)


def adam():
    return keras.optimizers.legacy.Adam(1e-4)


def mixed(make, **symbols):
    """The same program under Keras' mixed precision: layers in FP16, variables in FP32, a scaled loss.

    The scale begins at 1: with random weights the usual 2^15 overflows, and a step whose gradients are not finite
    leaves out the optimizer, which a step of a training that runs does not.
    """
    keras.mixed_precision.set_global_policy("mixed_float16")
    program = make(**symbols)
    scaler = keras.mixed_precision.LossScaleOptimizer(program.optimizer, initial_scale=1)
    return program._replace(optimizer=scaler, precision="amp", source=program.source + "; mixed_float16")


def classes_loss(batch, classes):
    loss = keras.losses.SparseCategoricalCrossentropy()
    truth = tf.zeros((batch,), tf.int64)
    return lambda output: loss(truth, output)


def tf_lenet5(batch=1024):
    """LeCun et al. 1998 with tanh and mean pooling, 28x28."""
    model = keras.Sequential([
        layers.Conv2D(6, 5, padding="same", activation="tanh", input_shape=(28, 28, 1)),
        layers.AveragePooling2D(),
        layers.Conv2D(16, 5, activation="tanh"),
        layers.AveragePooling2D(),
        layers.Flatten(),
        layers.Dense(120, activation="tanh"),
        layers.Dense(84, activation="tanh"),
        layers.Dense(10, activation="softmax")])
    images = tf.random.normal((batch, 28, 28, 1))
    return Program(model, images, classes_loss(batch, 10), sgd(), "LeNet-5 in Keras, 28x28; SGD(lr=0.1, momentum=0.9)")


def tf_resnet50(batch=32):
    model = keras.applications.ResNet50(weights=None)
    images = tf.random.normal((batch, 224, 224, 3))
    return Program(model, images, classes_loss(batch, 1000), sgd(),
                   "tf_keras.applications.ResNet50, 224x224; SGD(lr=0.1, momentum=0.9)")


def garden_resnet50():
    """ResNet-50 of the TensorFlow model garden (official/legacy/image_classification/resnet/resnet_model.py).

    Version 1.5: a block strides in its 3x3 convolution. No bias, and a penalty on every kernel.
    """
    decay = keras.regularizers.L2(1e-4)

    def convolution(x, filters, window, stride=1, padding="valid"):
        x = layers.Conv2D(filters, window, stride, padding, use_bias=False, kernel_regularizer=decay)(x)
        return layers.BatchNormalization(momentum=0.9, epsilon=1e-5)(x)

    def block(x, filters, stride, shortcut):
        y = layers.Activation("relu")(convolution(x, filters, 1))
        y = layers.Activation("relu")(convolution(y, filters, 3, stride, "same"))
        y = convolution(y, 4 * filters, 1)
        x = convolution(x, 4 * filters, 1, stride) if shortcut else x
        return layers.Activation("relu")(layers.add([y, x]))

    images = layers.Input((224, 224, 3))
    x = convolution(layers.ZeroPadding2D(3)(images), 64, 7, 2)
    x = layers.MaxPooling2D(3, 2, padding="same")(layers.Activation("relu")(x))
    for filters, blocks in ((64, 3), (128, 4), (256, 6), (512, 3)):
        for n in range(blocks):
            x = block(x, filters, 2 if n == 0 and filters > 64 else 1, n == 0)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(1000, kernel_regularizer=decay, bias_regularizer=decay)(x)
    return keras.Model(images, layers.Activation("softmax", dtype="float32")(x))


def tf_resnet50_v1_5(batch=32):
    model = garden_resnet50()
    images = tf.random.normal((batch, 224, 224, 3))
    loss = classes_loss(batch, 1000)
    return Program(model, images, lambda output: loss(output) + tf.add_n(model.losses), sgd(),
                   "ResNet-50 v1.5 as the TensorFlow model garden has it, 224x224; SGD(lr=0.1, momentum=0.9)")


def tf_bert(batch=16, seq=128):
    """BERT base as HuggingFace has it; trained on classes of sentences."""
    from transformers import BertConfig, TFBertForSequenceClassification, __version__
    ids = tf.zeros((batch, seq), tf.int32)
    truth = tf.zeros((batch,), tf.int64)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model = TFBertForSequenceClassification(BertConfig())
    return Program(model, ids, lambda output: loss(truth, output.logits), adam(),
                   f"transformers {__version__} TFBertForSequenceClassification, 12 layers of 768; Adam(lr=0.0001)")


class Dlrm(keras.Model):
    """NVIDIA's DLRM for TensorFlow 2: one joint table, two MLPs, products of all pairs of features."""

    def __init__(self, tables=26, rows=200000, width=128):
        super().__init__()
        self.tables, self.rows, self.width = tables, rows, width
        self.bottom = [layers.Dense(n, activation="relu") for n in (512, 256, width)]
        self.top = [layers.Dense(n, activation="relu") for n in (1024, 1024, 512, 256)] + [layers.Dense(1)]
        self.table = self.add_weight("table", (tables * rows, width), initializer="zeros")
        self.offsets = tf.range(tables, dtype=tf.int64) * rows
        pairs = [(tables + 1) * i + j for i in range(tables + 1) for j in range(i)]
        self.pairs = tf.constant(pairs, tf.int64)

    def call(self, inputs, training=False):
        numbers, categories = inputs
        for layer in self.bottom:
            numbers = layer(numbers)
        rows = tf.gather(self.table, categories + self.offsets)
        features = tf.concat([numbers[:, tf.newaxis, :], rows], axis=1)
        products = tf.matmul(features, features, transpose_b=True)
        flat = tf.reshape(products, (-1, (self.tables + 1) ** 2))
        out = tf.concat([tf.gather(flat, self.pairs, axis=1), numbers], axis=1)
        for layer in self.top:
            out = layer(out)
        return out


def tf_dlrm(batch=2048):
    numbers = tf.random.normal((batch, 13))
    categories = tf.zeros((batch, 26), tf.int64)
    truth = tf.zeros((batch, 1))
    loss = keras.losses.BinaryCrossentropy(from_logits=True)
    return Program(Dlrm(), (numbers, categories), lambda output: loss(truth, output),
                   keras.optimizers.legacy.SGD(0.1),
                   "DLRM as in NVIDIA's TensorFlow 2 example: a joint table of 26 x 200000 rows of 128, MLPs of "
                   "512-256-128 and 1024-1024-512-256-1; SGD(lr=0.1)")


def tf_resnet50_amp(batch=64):
    return mixed(tf_resnet50, batch=batch)


def tf_bert_amp(batch=16, seq=128):
    return mixed(tf_bert, batch=batch, seq=seq)


def tf_dlrm_amp(batch=2048):
    return mixed(tf_dlrm, batch=batch)


def tf_resnet50_v1_5_amp(batch=64):
    return mixed(tf_resnet50_v1_5, batch=batch)
