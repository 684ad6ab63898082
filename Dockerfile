# The image contains only the static binary and root certificates for webhooks:
# no shell, no PostgreSQL. RAIL_DATABASE_URL is required. The same VERSION, commit and Go
# version give the same binary as in the release's archive.
FROM golang:1.26-bookworm AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=unknown
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X rail/server/cli.version=${VERSION}" -o /out/rail ./cmd/rail

FROM scratch
ARG VERSION=unknown
LABEL org.opencontainers.image.title="Rail" \
      org.opencontainers.image.description="self-hosted affiliate program" \
      org.opencontainers.image.version="${VERSION}" \
      org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/
COPY --from=build /out/rail /rail
# A number, so that a cluster can verify that it is not root.
USER 65532:65532
ENV RAIL_ADDR=0.0.0.0:8080
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 CMD ["/rail", "health"]
ENTRYPOINT ["/rail"]
CMD ["serve"]
