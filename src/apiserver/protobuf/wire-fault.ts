/** Bytes that are no message, found while reading them; never leaves `decodeProtobuf`. */
export class WireFault extends Error {
  readonly offset: number

  constructor(offset: number, message: string) {
    super(message)
    this.offset = offset
  }
}
