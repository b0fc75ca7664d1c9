/**
 * `loaded`: in /proc/modules; `builtIn`: part of the kernel; `loadable`:
 * modprobe would find it; `absent`: none of these, as far as can be seen from
 * here (a container may not see the host's /lib/modules).
 */
export type ModuleState = 'loaded' | 'builtIn' | 'loadable' | 'absent'

/** What modules this kernel has. Whether a feature works, only trying it can tell. */
export interface KernelModules {
  state(name: string): Promise<ModuleState>
}
