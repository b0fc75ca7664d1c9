/** NFT_NAME_MAXLEN without the NUL at the end: bytes of a name of a table, chain or set. */
const MAX_NAME = 255

/** The kernel refuses such a name with ERANGE. */
export function isTooLong(name: string): boolean {
  return Buffer.byteLength(name, 'latin1') > MAX_NAME
}
