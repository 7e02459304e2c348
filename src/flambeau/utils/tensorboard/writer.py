"""``SummaryWriter`` and the event files it writes."""

import os
import socket
import time
import warnings

import numpy as np
from tensorboard.compat.proto import event_pb2
from tensorboard.compat.proto.event_pb2 import Event, SessionLog
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from . import _embedding, _images, summary

NO_ONNX = "add_onnx_graph() is not supported: there is no ONNX here. add_graph() draws a model."
KNOWN_EMBEDDING = "Embedding dir exists, did you set global_step for add_embedding()? Its files are overwritten: {path}"


class FileWriter:
    """Writes records to the event file of a folder, from a background thread.

    Args:
        log_dir: the folder.
        max_queue: the maximum number of pending records.
        flush_secs: the maximum delay before they are written.
        filename_suffix: the suffix of the file name.
    """

    def __init__(self, log_dir, max_queue=10, flush_secs=120, filename_suffix=""):
        self.event_writer = EventFileWriter(str(log_dir), max_queue, flush_secs, filename_suffix)

    def get_logdir(self):
        """The folder."""
        return self.event_writer.get_logdir()

    def add_event(self, event, step=None, walltime=None):
        """Adds an event with its step and time (default: now)."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(self, summary, global_step=None, walltime=None):
        """Adds a summary created by ``tensorboard.summary``."""
        self.add_event(Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile, walltime=None):
        """Adds a graph and the devices it runs on."""
        graph, stats = graph_profile
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)
        metadata = event_pb2.TaggedRunMetadata(tag="step1", run_metadata=stats.SerializeToString())
        self.add_event(Event(tagged_run_metadata=metadata), None, walltime)

    def add_onnx_graph(self, graph, walltime=None):
        """Adds a graph."""
        self.add_event(Event(graph_def=graph.SerializeToString()), None, walltime)

    def flush(self):
        """Writes pending events to disk."""
        self.event_writer.flush()

    def close(self):
        """Writes pending events and closes the file."""
        self.event_writer.close()

    def reopen(self):
        """Reopens the file after ``close``."""
        self.event_writer.reopen()


class SummaryWriter:
    """Logs scalars, images and more to TensorBoard.

    Args:
        log_dir: the folder to write to; by default ``runs/<time>_<host><comment>``.
        comment: the suffix of the default folder's name.
        purge_step: hides events logged at this step and later, before a crash.
        max_queue: the maximum number of pending records.
        flush_secs: the maximum delay before they are written.
        filename_suffix: the suffix of all event file names.

    In all methods, `global_step` is the step of the record and `walltime` its time (default: now).

    Example::

        with SummaryWriter("runs/first") as writer:
            for step in range(100):
                writer.add_scalar("loss/train", train(step), step)
    """

    def __init__(self, log_dir=None, comment="", purge_step=None, max_queue=10, flush_secs=120, filename_suffix=""):
        if not log_dir:
            now = time.strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{now}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer = None
        self.all_writers = {}  # folder -> FileWriter
        self._get_file_writer()

    def _get_file_writer(self):
        """The writer to the run's own folder, created anew after ``close``."""
        if self.file_writer is None:
            self.file_writer = self._writer_to(self.log_dir)
            if self.purge_step is not None:
                first, self.purge_step = self.purge_step, None
                self.file_writer.add_event(Event(step=first, file_version="brain.Event:2"))
                self.file_writer.add_event(Event(step=first, session_log=SessionLog(status=SessionLog.START)))
        return self.file_writer

    def _writer_to(self, folder):
        folder = str(folder)
        if folder not in self.all_writers:
            self.all_writers[folder] = FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)
        return self.all_writers[folder]

    def _add(self, record, global_step, walltime):
        self._get_file_writer().add_summary(record, global_step, walltime)

    def get_logdir(self):
        """The folder of the run."""
        return self.log_dir

    # ---- numbers

    def add_scalar(self, tag, scalar_value, global_step=None, walltime=None, new_style=False, double_precision=False):
        """Logs a scalar. `new_style` writes it as an array, optionally in double precision."""
        record = summary.scalar(tag, scalar_value, new_style=new_style, double_precision=double_precision)
        self._add(record, global_step, walltime)

    def add_scalars(self, main_tag, tag_scalar_dict, global_step=None, walltime=None):
        """Logs several scalars in one chart. Each has its own folder, as TensorBoard treats them as runs."""
        start = os.path.join(self._get_file_writer().get_logdir(), main_tag.replace("/", "_"))
        for tag, value in tag_scalar_dict.items():
            self._writer_to(f"{start}_{tag}").add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(self, tag, tensor, global_step=None, walltime=None):
        """Logs a tensor."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(self, tag, values, global_step=None, bins="tensorflow", walltime=None, max_bins=None):
        """Logs a histogram; `bins` is "tensorflow" or what ``numpy.histogram`` takes."""
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(self, tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts, global_step=None,
                          walltime=None):
        """Logs a precomputed histogram; `bucket_limits` are the upper edges."""
        record = summary.histogram_raw(tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts)
        self._add(record, global_step, walltime)

    def add_pr_curve(self, tag, labels, predictions, global_step=None, num_thresholds=127, weights=None, walltime=None):
        """Logs a precision-recall curve of predictions (between 0 and 1) and labels (0 or 1)."""
        self._add(summary.pr_curve(tag, labels, predictions, num_thresholds, weights), global_step, walltime)

    def add_pr_curve_raw(self, tag, true_positive_counts, false_positive_counts, true_negative_counts,
                         false_negative_counts, precision, recall, global_step=None, num_thresholds=127, weights=None,
                         walltime=None):
        """Logs a precomputed precision-recall curve."""
        counts = true_positive_counts, false_positive_counts, true_negative_counts, false_negative_counts
        self._add(summary.pr_curve_raw(tag, *counts, precision, recall, num_thresholds), global_step, walltime)

    # ---- pictures, sounds, words, shapes

    def add_image(self, tag, img_tensor, global_step=None, walltime=None, dataformats="CHW"):
        """Logs an image: bytes, or floats between 0 and 1. `dataformats` names the dimensions."""
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(self, tag, img_tensor, global_step=None, walltime=None, dataformats="NCHW"):
        """Logs several images, side by side."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(self, tag, img_tensor, box_tensor, global_step=None, walltime=None, rescale=1,
                             dataformats="CHW", labels=None):
        """Logs an image with boxes (left, top, right, bottom), one per row."""
        labels = [labels] if isinstance(labels, str) else labels
        self._add(summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels), global_step, walltime)

    def add_figure(self, tag, figure, global_step=None, close=True, walltime=None):
        """Logs one or more matplotlib figures, side by side, and closes them."""
        if isinstance(figure, list):
            images = np.stack([_images.figure_pixels(each, close) for each in figure])
            self.add_image(tag, images, global_step, walltime, "NHWC")
        else:
            self.add_image(tag, _images.figure_pixels(figure, close), global_step, walltime, "HWC")

    def add_video(self, tag, vid_tensor, global_step=None, fps=4, walltime=None):
        """Logs videos (N, T, C, H, W), side by side, as an animated GIF."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(self, tag, snd_tensor, global_step=None, sample_rate=44100, walltime=None):
        """Logs mono audio, with amplitudes between -1 and 1."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(self, tag, text_string, global_step=None, walltime=None):
        """Logs text, in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_mesh(self, tag, vertices, colors=None, faces=None, config_dict=None, global_step=None, walltime=None):
        """Logs a point cloud (N, points, 3), or a mesh if faces are given; `config_dict` configures the scene."""
        self._add(summary.mesh(tag, vertices, colors, faces, config_dict), global_step, walltime)

    # ---- models and embeddings

    def add_graph(self, model, input_to_model=None, verbose=False, use_strict_trace=True):
        """Logs the graph of a model, with the shapes for `input_to_model`.

        It is traced symbolically, so data-dependent control flow is not supported. `use_strict_trace` is ignored.
        """
        from ._graph import graph  # imported here because it loads the tracer

        self._get_file_writer().add_graph(graph(model, input_to_model, verbose))

    def add_onnx_graph(self, prototxt):
        """Not supported."""
        raise NotImplementedError(NO_ONNX)

    def add_embedding(self, mat, metadata=None, label_img=None, global_step=None, tag="default", metadata_header=None):
        """Logs points (N, D) for the projector, with labels (in columns, if there is a header) and images."""
        points, images = _embedding.check(mat, metadata, label_img)
        step = str(0 if global_step is None else global_step).zfill(5)
        subdir = f"{step}/{self._encode(tag)}"
        folder = self._get_file_writer().get_logdir()
        if os.path.exists(os.path.join(folder, subdir)):
            warnings.warn(KNOWN_EMBEDDING.format(path=subdir), stacklevel=2)
        _embedding.write(folder, subdir, f"{tag}:{step}", points, metadata, metadata_header, images)

    @staticmethod
    def _encode(rawstr):
        """Converts a tag to a folder name."""
        for sign in "%/\\":
            rawstr = rawstr.replace(sign, f"%{ord(sign):02x}")
        return rawstr

    # ---- settings of the run, and of TensorBoard

    def add_hparams(self, hparam_dict, metric_dict, hparam_domain_discrete=None, run_name=None, global_step=None):
        """Logs hyperparameters and resulting metrics as a separate run in the folder `run_name`."""
        records = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(folder) as run:
            for record in records:
                run._add(record, global_step, None)
            for tag, value in metric_dict.items():
                run.add_scalar(tag, value, global_step)

    def add_custom_scalars_multilinechart(self, tags, category="default", title="untitled"):
        """Configures a chart of several scalars."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(self, tags, category="default", title="untitled"):
        """Configures a chart of a scalar with a margin: `tags` are the scalar, the lower and the upper bound."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout):
        """Configures custom charts: {category: {title: ["Multiline" or "Margin", tags]}}."""
        self._add(summary.custom_scalars(layout), None, None)

    # ---- the files

    def flush(self):
        """Writes pending events to disk."""
        for writer in self.all_writers.values():
            writer.flush()

    def close(self):
        """Writes pending events and closes the files. Further logging opens new ones."""
        for writer in self.all_writers.values():
            writer.close()
        self.file_writer, self.all_writers = None, {}

    def __enter__(self):
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.close()
