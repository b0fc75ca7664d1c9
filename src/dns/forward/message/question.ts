/** A question to forward. */
export interface ForwardQuestion {
  /** The name in the client's case, labels joined by dots, without the final dot; '' or '.' is the root. */
  readonly name: string
  /** TYPE of the question as a number, such as 28 for AAAA. */
  readonly type: number
  /** CLASS of the question as a number, such as 1 for IN. */
  readonly klass: number
  /** The client's DO bit (RFC 3225): it wants DNSSEC records. */
  readonly dnssecOk: boolean
  /** The client's CD bit (RFC 4035): the upstream shall not validate. */
  readonly checkingDisabled: boolean
}
