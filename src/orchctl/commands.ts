import type { CommandEntry } from './session/command-module.ts'

/** Every command: one file or folder, and one entry each. A module is loaded when its command runs. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'get',
    aliases: ['list'],
    summary: 'show objects',
    load: () => import('./get/get-command.ts'),
  },
  {
    name: 'describe',
    summary: 'show objects in detail, with their events',
    load: () => import('./describe/describe-command.ts'),
  },
  {
    name: 'apply',
    summary: 'create objects of files, or change them as the files say',
    load: () => import('./apply-command.ts'),
  },
  {
    name: 'create',
    summary: 'create objects of files, or one of a name and flags',
    load: () => import('./create/create-command.ts'),
  },
  {
    name: 'edit',
    summary: 'change an object in an editor',
    load: () => import('./edit-command.ts'),
  },
  {
    name: 'label',
    summary: 'set and remove labels',
    load: async () => (await import('./map-command.ts')).label,
  },
  {
    name: 'annotate',
    summary: 'set and remove annotations',
    load: async () => (await import('./map-command.ts')).annotate,
  },
  {
    name: 'scale',
    summary: 'set the number of Pods of a Deployment',
    load: () => import('./scale-command.ts'),
  },
  {
    name: 'set',
    summary: 'change the images of containers',
    load: () => import('./set-command.ts'),
  },
  {
    name: 'rollout',
    summary: 'follow, undo, restart and pause the rollouts of workloads',
    load: () => import('./rollout/rollout-command.ts'),
  },
  {
    name: 'drain',
    summary: 'cordon a node, and evict its Pods',
    load: async () => (await import('./drain-command.ts')).drain,
  },
  {
    name: 'cordon',
    summary: 'let no further Pods be scheduled to a node',
    load: async () => (await import('./drain-command.ts')).cordon,
  },
  {
    name: 'uncordon',
    summary: 'let Pods be scheduled to a node again',
    load: async () => (await import('./drain-command.ts')).uncordon,
  },
  {
    name: 'delete',
    summary: 'delete objects',
    load: () => import('./delete-command.ts'),
  },
  {
    name: 'logs',
    summary: 'print what the containers of Pods have written',
    load: () => import('./logs-command.ts'),
  },
  {
    name: 'exec',
    summary: 'run a command in a container of a Pod',
    load: () => import('./exec-command.ts'),
  },
  {
    name: 'port-forward',
    summary: 'connect ports of this machine with those of a Pod or Service',
    load: () => import('./port-forward-command.ts'),
  },
  {
    name: 'auth',
    summary: 'check permissions and identity',
    load: () => import('./auth-command.ts'),
  },
  {
    name: 'env',
    summary: 'show the variables by which a Pod finds Services',
    load: () => import('./env-command.ts'),
  },
  {
    name: 'doctor',
    summary: 'find out why something does not work',
    load: () => import('./doctor/doctor-command.ts'),
  },
  {
    name: 'explain',
    summary: 'show what happens to a connection on its node, and why',
    load: () => import('./explain/explain-command.ts'),
  },
  {
    name: 'resolve',
    summary: 'show what DNS answers to a Pod, and why',
    load: () => import('./resolve/resolve-command.ts'),
  },
  {
    name: 'take-over',
    summary: 'move nodes from kube-proxy to node-proxy, or back',
    load: () => import('./take-over/take-over-command.ts'),
  },
  {
    name: 'api-resources',
    summary: 'list the resources of the server',
    load: async () => (await import('./server-commands.ts')).apiResources,
  },
  {
    name: 'config',
    summary: 'show and change the kubeconfig',
    load: () => import('./config-command.ts'),
  },
  {
    name: 'completion',
    summary: 'print the completion script of a shell',
    load: () => import('./completion-command.ts'),
  },
  {
    name: 'version',
    summary: 'show the version of orchctl and of the server',
    load: async () => (await import('./server-commands.ts')).version,
  },
  {
    name: '__complete',
    summary: 'print the candidates for a word, for completion',
    isHidden: true,
    load: () => import('./complete-command.ts'),
  },
]
