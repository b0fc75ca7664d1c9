import type { CommandEntry } from './command/command-module.ts'

/** Every command: one folder and one line each. A module is loaded when its command runs. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'get',
    aliases: ['list'],
    summary: 'show objects',
    load: () => import('./get/get-command.ts'),
  },
  {
    name: 'config',
    summary: 'show and change the kubeconfig',
    load: () => import('./config/config-command.ts'),
  },
  {
    name: 'version',
    summary: 'show the version of orchctl and of the server',
    load: () => import('./version/version-command.ts'),
  },
]
