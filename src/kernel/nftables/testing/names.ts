/** NFT_NAME_MAXLEN without the NUL at the end: the maximum bytes of a name of a table, chain or set. */
const MAX_NAME = 255

/** Whether a name is too long; the kernel refuses it with ERANGE. */
export function isTooLong(name: string): boolean {
  return Buffer.byteLength(name, 'latin1') > MAX_NAME
}
