import type { CommandEntry } from './command-module.ts'

/** The commands beside the daemon itself, one module each. None of them changes the kernel or the cluster. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'explain',
    summary: 'show what happens to a connection on this node, and why',
    load: () => import('./explain-command.ts'),
  },
  {
    name: 'status',
    summary: 'show whether the node-proxy of this node works, and what does not',
    load: () => import('./status-command.ts'),
  },
  {
    name: 'entries',
    summary: 'show what the node-proxy of this node forwards',
    load: () => import('./entries-command.ts'),
  },
  {
    name: 'traffic',
    summary: 'show what the Services of this node received and sent, by backend',
    load: () => import('./traffic-command.ts'),
  },
  {
    name: 'record',
    summary: 'write what decides about packets on this node into one file, for explain elsewhere',
    load: () => import('./record-command.ts'),
  },
  {
    name: 'plan',
    summary:
      'show what a configuration, a mode or a manifest would change in the kernel, and change nothing',
    load: () => import('./plan-command.ts'),
  },
  {
    name: 'doctor',
    summary: 'show why Services do not work on this node',
    load: () => import('./doctor-command.ts'),
  },
  {
    name: 'facts',
    summary: 'show the evidence about this node that doctor judges',
    load: () => import('./facts-command.ts'),
  },
]

/** The command that the arguments name; undefined: the arguments are those of the daemon. */
export function commandOf(args: readonly string[]): CommandEntry | undefined {
  return COMMANDS.find(({ name }) => name === args[0])
}
