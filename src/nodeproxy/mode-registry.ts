/** The modes of this build, best first: what `mode: auto` tries, and what errors name. */
export const AVAILABLE_MODES: readonly string[] = ['ipvs', 'iptables', 'userspace']
