/**
 * Kernel settings of this network namespace, by path under /proc/sys:
 * `net/ipv4/ip_forward` (a path, because interface names may contain dots).
 */
export interface Sysctl {
  /** Undefined if this kernel has no such setting. */
  read(path: string): string | undefined
  /**
   * Sets a setting to `value`, writing only if it differs; returns whether it wrote. Throws NP_KERNEL_SYSCTL if the
   * setting is missing or cannot be written.
   */
  ensure(path: string, value: string): boolean
}
