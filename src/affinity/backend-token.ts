import { contentHash } from '../lib/hash.ts'
import { hostPort, type IpAddress } from '../lib/ip.ts'

/**
 * A backend in 31 bits, the same in every thread and after every change of its
 * Service. Two of 1,000 backends share a token once in 4,000 Services; then
 * their clients stick to one of the two.
 */
export function tokenOf(ip: IpAddress, port: number): number {
  return contentHash(hostPort(ip, port)) % 2 ** 31
}
