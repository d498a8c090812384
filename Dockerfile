# hive with CUDA's run-time compiler and NCCL from PyPI. The driver is the machine's (NVIDIA Container Toolkit).
#
#   docker build -t hivegraph .
#   docker run --rm --gpus all --shm-size 1g -v "$PWD:/work" hivegraph run bfs --graph graph.mtx --verify
#
# CUDA 12 runs on drivers from 525 on and knows GPUs from the V100 on. Without GPUs, leave --gpus out.
FROM rust:1.95-slim-bookworm AS build
RUN apt-get update && apt-get install --yes --no-install-recommends gcc=4:12.* libc6-dev=2.36-* \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /source
COPY . .
RUN cargo build --release --locked --bin hive

FROM python:3.13-slim-bookworm
RUN pip install --no-cache-dir --no-deps nvidia-cuda-nvrtc-cu12==12.9.86 nvidia-nccl-cu12==2.28.9
COPY --from=build /source/target/release/hive /usr/local/bin/hive
COPY configs /usr/local/share/hivegraph/configs
# No NVLink multicast. Kernels that were compiled are kept beside the data.
ENV NCCL_NVLS_ENABLE=0 HIVE_CACHE_DIR=/work/.hive-cache
WORKDIR /work
ENTRYPOINT ["hive"]
