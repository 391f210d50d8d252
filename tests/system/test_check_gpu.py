#!/usr/bin/env python3
"""What scripts/check-gpu reads of other programs. The outputs are made, in the form in which users of these programs
report them; nvidia-smi's is in test_gpu_nvidia.py, beside cpuperf.
"""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os

from kit import run_checks

LOADER = importlib.machinery.SourceFileLoader("check_gpu", os.path.join(os.environ["SOURCE_DIR"], "scripts", "check-gpu"))
TOOL = importlib.util.module_from_spec(importlib.util.spec_from_loader("check_gpu", LOADER))
LOADER.exec_module(TOOL)


def means(peer, text):
    return TOOL.mean_by(TOOL.PEERS[peer][1](text))


def check_amd_smi(_):
    gpu = {"gpu": 0,
           "usage": {"gfx_activity": {"value": 42, "unit": "%"}, "umc_activity": {"value": 1, "unit": "%"},
                     "vcn_activity": [{"value": 0, "unit": "%"}, "N/A"]},
           "power": {"socket_power": {"value": 20, "unit": "W"}, "throttle_status": "UNTHROTTLED"},
           "temperature": {"edge": {"value": 45, "unit": "C"}, "hotspot": {"value": 52, "unit": "C"}},
           "mem_usage": {"total_vram": {"value": 16368, "unit": "MB"}, "used_vram": {"value": 14569, "unit": "MB"}}}
    other = {"gpu": 1, "usage": "N/A", "power": {"socket_power": "N/A"}}
    expected = {("card0", "busy"): 42, ("card0", "power"): 20, ("card0", "temperature"): 45,
                ("card0", "memory_used"): 14569 << 20, ("card0", "memory_total"): 16368 << 20}
    assert means("amd-smi", json.dumps([gpu, other])) == expected  # up to 6.x, and from 7.0 on
    assert means("amd-smi", json.dumps({"gpu_data": [gpu, other]})) == expected


def check_rocm_smi(_):
    text = json.dumps({
        "card0": {"GPU use (%)": "7", "VRAM Total Memory (B)": "21458059264", "VRAM Total Used Memory (B)": "27856896",
                  "Temperature (Sensor edge) (C)": "45.5", "Temperature (Sensor junction) (C)": "52.0",
                  "Average Graphics Package Power (W)": "128.0", "Card Series": "A"},
        "card1": {"GPU use (%)": "N/A", "Current Socket Graphics Package Power (W)": "560.0"},
        "system": {"Driver version": "6.7"}})
    assert means("rocm-smi", text) == {
        ("card0", "busy"): 7, ("card0", "memory_total"): 21458059264, ("card0", "memory_used"): 27856896,
        ("card0", "temperature"): 45.5, ("card0", "power"): 128, ("card1", "power"): 560}


def check_intel_gpu_top(_):
    def sample(actual, gpu):
        return json.dumps({"period": {"duration": 500.3, "unit": "ms"},
                           "frequency": {"requested": 617.5, "actual": actual, "unit": "MHz"},
                           "rc6": {"value": 5.3, "unit": "%"}, **gpu,
                           "engines": {"Render/3D": {"busy": 10.8, "sema": 0.0, "wait": 0.0, "unit": "%"}}})

    power = {"power": {"GPU": 0.95, "Package": 36.54, "unit": "W"}}
    samples = [sample(9999, {"power": {"GPU": 99}}), sample(400, power), sample(600, {})]
    for between in ("\n", ",\n"):  # older ones have no commas; timeout cuts the last one
        text = "[\n" + between.join(samples) + between + '{ "period": {'
        assert means("intel_gpu_top", text) == {("", "frequency"): 500e6, ("", "power"): 0.95}, text
    assert means("intel_gpu_top", "[\n" + samples[0]) == {}


def check_nvtop(_):
    gpu = {"device_name": "A", "gpu_clock": "1230MHz", "mem_clock": "1249MHz", "temp": "51C", "fan_speed": "CPU Fan",
           "power_draw": "117W", "gpu_util": "73%", "mem_util": "28%", "processes": []}
    assert means("nvtop", json.dumps([gpu])) == {("", "busy"): 73, ("", "power"): 117, ("", "temperature"): 51,
                                                 ("", "frequency"): 1230e6}
    assert means("nvtop", json.dumps([{**gpu, "power_draw": None, "gpu_util": None, "temp": None}])) == {
        ("", "frequency"): 1230e6}
    assert means("nvtop", json.dumps([gpu, gpu])) == {}


def check_what_is_none(_):
    """One line each, and no value."""
    for peer in TOOL.PEERS:
        for text in ("", "[", "[]", "{}", "[1]", "null", "\"x\"", "no devices were found\n"):
            with contextlib.redirect_stdout(io.StringIO()) as said:
                assert TOOL.parsed(peer, text, "why") == {}, (peer, text)
            assert said.getvalue().startswith(f"{peer}: no value ") and said.getvalue().count("\n") == 1, said.getvalue()


run_checks(globals())
