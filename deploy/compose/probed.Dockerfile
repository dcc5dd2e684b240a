# An image that has no shell, and beside what it holds a static busybox, so that a health check can ask it.
ARG IMAGE
ARG BUSYBOX_IMAGE
FROM ${BUSYBOX_IMAGE} AS busybox

FROM ${IMAGE}
COPY --from=busybox --chmod=0555 /bin/busybox /probe/busybox
