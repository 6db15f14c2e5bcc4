# docker build -t tandem . && docker run --rm -v "$PWD:/data" -w /data tandem replay trace.json.gz --batch 128
# `./tandem` installs what a build needs; the image has the Debian packages and what they depend on.
FROM debian:bookworm AS build
COPY . /src
WORKDIR /src
RUN ./tandem python -c 'import tandem' && \
    apt-get install -y --no-install-recommends dpkg-dev file && \
    cmake --build build --target tandem_cli tandem_python && \
    cd build && cpack -D CPACK_COMPONENTS_ALL="tandem;python"

FROM debian:bookworm-slim
COPY --from=build /src/build/*.deb /tmp/
RUN apt-get update && apt-get install -y --no-install-recommends /tmp/*.deb && rm -rf /tmp/*.deb /var/lib/apt/lists/*
ENTRYPOINT ["tandem"]
CMD ["--help"]
