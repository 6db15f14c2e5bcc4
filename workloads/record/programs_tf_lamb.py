"""BERT large with LAMB in eager TensorFlow, as MLPerf's rules and NVIDIA's TensorFlow 2 example have it.

    record_tf.py programs_tf_lamb.py:tf_bert_large --out ../nets/tf_bert_large-train.json       # and _amp; five minutes each

`head`, the size of one of 16 heads, is a symbol, so that the step is recorded at small sizes: a recording keeps every
tensor, and at full size LAMB alone makes 40 GB of them. 64 is BERT large.
"""
import recorder_tf  # noqa: F401  (chooses Keras 2 before TensorFlow is imported)

import tensorflow as tf
import tf_keras as keras

from programs_tf import mixed
from record_tf import Program

LAYERS, HEADS, MASKED = 24, 16, 20


class Lamb(keras.optimizers.legacy.Optimizer):
    """LAMB operation by operation, as TensorFlow Addons has it."""

    def __init__(self, rate=1e-3, decay=0.01, beta_1=0.9, beta_2=0.999, epsilon=1e-6):
        super().__init__("LAMB")
        for name, value in (("learning_rate", rate), ("weight_decay_rate", decay), ("beta_1", beta_1), ("beta_2", beta_2),
                            ("decay", 0.0)):
            self._set_hyper(name, value)
        self.epsilon = epsilon

    def _create_slots(self, var_list):
        for slot in ("m", "v"):
            for var in var_list:
                self.add_slot(var, slot)

    def _prepare_local(self, device, dtype, apply_state):
        super()._prepare_local(device, dtype, apply_state)
        step = tf.cast(self.iterations + 1, dtype)
        state = {"weight_decay_rate": self._get_hyper("weight_decay_rate", dtype),
                 "epsilon": tf.convert_to_tensor(self.epsilon, dtype)}
        for name in ("beta_1", "beta_2"):
            beta = tf.identity(self._get_hyper(name, dtype))
            state |= {name: beta, name + "_power": tf.pow(beta, step), "one_minus_" + name: 1 - beta}
        apply_state[(device, dtype)].update(state)

    def _resource_apply_dense(self, grad, var, apply_state=None):
        c = apply_state[(var.device, var.dtype.base_dtype)]
        m, v = self.get_slot(var, "m"), self.get_slot(var, "v")
        m_new = m * c["beta_1"] + grad * c["one_minus_beta_1"]
        m.assign(m_new, use_locking=self._use_locking)
        v_new = v * c["beta_2"] + (grad * grad) * c["one_minus_beta_2"]
        v.assign(v_new, use_locking=self._use_locking)
        m_hat = m_new / (1.0 - c["beta_1_power"])
        v_hat = v_new / (1.0 - c["beta_2_power"])
        update = m_hat / (tf.sqrt(v_hat) + c["epsilon"])
        ratio = 1.0
        if not any(part in var.name.lower() for part in ("layernorm", "bias")):
            update += c["weight_decay_rate"] * var
            of_weights, of_update = tf.norm(var, ord=2), tf.norm(update, ord=2)
            ratio = tf.where(tf.greater(of_weights, 0),
                             tf.where(tf.greater(of_update, 0), of_weights / of_update, 1.0), 1.0)
        var.assign(var - ratio * c["lr_t"] * update, use_locking=self._use_locking)

    def _resource_apply_sparse(self, grad, var, indices, apply_state=None):
        dense = tf.convert_to_tensor(tf.IndexedSlices(grad, indices, tf.shape(var)))
        return self._resource_apply_dense(dense, var, apply_state)


class Pretraining(keras.Model):
    """Words behind masked places, and whether the second sentence follows the first."""

    def __init__(self, config):
        super().__init__()
        from transformers.models.bert import modeling_tf_bert as bert
        self.bert = bert.TFBertMainLayer(config, name="bert")
        self.following = bert.TFBertNSPHead(config, name="nsp")
        self.words = bert.TFBertMLMHead(config, input_embeddings=self.bert.embeddings, name="mlm")

    def call(self, inputs, training=False):
        ids, places = inputs
        out = self.bert(ids, training=training)
        return self.words(tf.gather(out[0], places, batch_dims=1)), self.following(out[1])


def tf_bert_large(batch=16, seq=128, head=64):
    from transformers import BertConfig, __version__
    width = HEADS * head
    model = Pretraining(BertConfig(hidden_size=width, num_hidden_layers=LAYERS, num_attention_heads=HEADS,
                                   intermediate_size=4 * width))
    for layer in model.bert.encoder.layer:
        layer.attention.self_attention.sqrt_att_head_size = 8.0  # of 64, at every size of a head
    ids, places = tf.zeros((batch, seq), tf.int32), tf.zeros((batch, MASKED), tf.int64)
    words, following = tf.zeros((batch, MASKED), tf.int64), tf.zeros((batch,), tf.int64)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    return Program(model, (ids, places), lambda output: loss(words, output[0]) + loss(following, output[1]), Lamb(),
                   f"transformers {__version__} BERT with both heads of pre-training, {LAYERS} layers of 16 heads, "
                   f"{MASKED} masked places; LAMB of TensorFlow Addons")


def tf_bert_large_amp(batch=16, seq=128, head=64):
    return mixed(tf_bert_large, batch=batch, seq=seq, head=head)
