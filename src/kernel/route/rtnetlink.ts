/** linux/netlink.h: create the object; refuse with EEXIST if it exists. */
export const NLM_F_EXCL = 0x200
export const NLM_F_CREATE = 0x400

/**
 * The origin (`proto 110` in `ip rule` and `ip route`) of the rules and routes that this project creates. The kernel's own are below 5, and /etc/iproute2/rt_protos assigns
 * this number to no program.
 */
export const OUR_PROTOCOL = 110

/** A number of 32 bits in the host's byte order. */
export function host32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
