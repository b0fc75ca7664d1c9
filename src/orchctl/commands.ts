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
    name: 'apply',
    summary: 'create objects of files, or change them as the files say',
    load: () => import('./apply/apply-command.ts'),
  },
  {
    name: 'create',
    summary: 'create objects of files, or one of a name and flags',
    load: () => import('./create/create-command.ts'),
  },
  {
    name: 'delete',
    summary: 'delete objects',
    load: () => import('./delete/delete-command.ts'),
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
