/** linux/netlink.h: make it, and refuse (EEXIST) what is there already. */
export const NLM_F_EXCL = 0x200
export const NLM_F_CREATE = 0x400

/**
 * The origin that our rules and routes carry (`ip rule` and `ip route` show
 * `proto 110`). The kernel's own are below 5, and /etc/iproute2/rt_protos assigns
 * this number to no program.
 */
export const OUR_PROTOCOL = 110

/** A number of 32 bits in the host's byte order. */
export function host32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}
