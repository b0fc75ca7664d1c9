import type { Command } from 'commander'
import type { CommandContext } from '../command/context.ts'
import { addDataFlags, type DataFlags, dataOf } from './file-data.ts'
import { generates } from './generates.ts'

/** `orchctl create configmap NAME`. */
export function defineConfigMap(create: Command, context: CommandContext): void {
  const command = create
    .command('configmap')
    .alias('cm')
    .description('Create a ConfigMap from files and values.')
  generates<DataFlags>(addDataFlags(command), context, async (name, flags) => {
    const all = [...(await dataOf(flags))]
    const texts = all.filter(([, bytes]) => isText(bytes))
    const binary = all.filter(([, bytes]) => !isText(bytes))
    return {
      apiVersion: 'v1',
      kind: 'ConfigMap',
      metadata: { name },
      ...(texts.length === 0
        ? {}
        : { data: Object.fromEntries(texts.map(([key, bytes]) => [key, bytes.toString('utf8')])) }),
      ...(binary.length === 0
        ? {}
        : {
            binaryData: Object.fromEntries(
              binary.map(([key, bytes]) => [key, bytes.toString('base64')]),
            ),
          }),
    }
  })
}

function isText(bytes: Buffer): boolean {
  return Buffer.from(bytes.toString('utf8')).equals(bytes)
}
