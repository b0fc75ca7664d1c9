/** By which this server and the nodes that it sends requests to verify each other. All PEM. */
export interface NodeCredentials {
  /** Of this server as a client. */
  readonly cert: string
  readonly key: string
  /** Sign the certificates of nodes. */
  readonly authority: string
}
