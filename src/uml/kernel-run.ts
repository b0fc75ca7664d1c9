import type { Duplex } from 'node:stream'

/** A folder of this machine that is mounted in the kernel at a path of its own. */
export interface Share {
  readonly host: string
  /** Absolute; made when it does not exist. Below /proc, /sys and /dev nothing can be shared. */
  readonly inside: string
  /** Whether the kernel may write to the folder of this machine; read-only by default. */
  readonly writable?: boolean
}

/** A command and the kernel in which it is to run. */
export interface KernelRun {
  /** Found on the PATH inside, or a path. */
  readonly command: string
  readonly args?: readonly string[]
  /** The whole environment; PATH and HOME have default values. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** `/` by default. */
  readonly cwd?: string
  /** Memory of the kernel in MiB, 1024 by default; this machine allocates only what is used. */
  readonly memory?: number
  /** Kernels whose numbers differ by one get different processors; by default the number is arbitrary. */
  readonly turn?: number
  readonly share?: readonly Share[]
  /**
   * A tap device of this machine, of the network namespace of this process. The kernel has its other end as `vec0`,
   * without addresses.
   */
  readonly tap?: string
  /** Modules that this kernel must not have, such as `ip_vs`; modules that need them are removed, too. */
  readonly withoutModules?: readonly string[]
  /** Receives the console: the output of the command, and messages of the kernel. */
  readonly onOutput?: (text: string) => void
  /** The command gets this process's terminal; `onOutput` is not called then. */
  readonly terminal?: boolean
  /** Whether other processes may use a shell in the kernel: `npm run --silent uml -- --enter`. */
  readonly shell?: boolean
  /** Milliseconds until the kernel is killed, even if it still produces output. */
  readonly timeoutMs?: number
  /** Milliseconds without a byte on console or channel until the kernel is killed. */
  readonly silenceMs?: number
}

/** How a command ended. */
export interface KernelOutcome {
  /** The exit status of the command; 128 + signal if a signal ended it. */
  readonly status: number
  /** The end of what the console showed, at most 64 KiB. */
  readonly console: string
}

/** A kernel that was started. */
export interface Kernel {
  /** Its process on this machine, which leads a session: all processes inside belong to that. */
  readonly pid: number
  /** The other end of `$UML_CHANNEL`, a device of eight-bit clean bytes both ways. */
  readonly channel: Duplex
  /**
   * Settles when the kernel is gone with everything that it left on this machine. Rejects with
   * NP_UML_SILENT, NP_UML_TIMEOUT, NP_UML_PANIC or NP_UML_ENDED.
   */
  readonly ended: Promise<KernelOutcome>
  /** Ends it at once; `ended` rejects with NP_UML_ENDED unless the command was done. */
  kill(): void
}
