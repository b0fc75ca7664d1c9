/** The protocol of forwarded ports over SPDY. */
export const PORT_FORWARD = 'portforward.k8s.io'

/** SPDY/3.1 in the binary messages of a WebSocket, with the same protocol inside. */
export const TUNNELLED_PORT_FORWARD = 'SPDY/3.1+portforward.k8s.io'

/** Headers of the two streams of each connection. */
export const HEADER = { type: 'streamtype', port: 'port', request: 'requestid' } as const
