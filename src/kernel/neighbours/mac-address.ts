/** The bytes of an Ethernet address. */
export const MAC_BYTES = 6

/** The text of an Ethernet address: `02:00:00:00:00:01`. */
export function formatMac(mac: Uint8Array): string {
  return Buffer.from(mac)
    .toString('hex')
    .replace(/..(?!$)/g, '$&:')
}

/** Whether an Ethernet address can be that of one interface: not a group, and not zero. */
export function isUnicastMac(mac: Uint8Array): boolean {
  return mac.length === MAC_BYTES && (mac[0]! & 1) === 0 && mac.some((byte) => byte !== 0)
}

export function isEqualMac(a: Uint8Array, b: Uint8Array): boolean {
  return Buffer.compare(a, b) === 0
}
