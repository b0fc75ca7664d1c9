import { type Command, Option } from 'commander'
import { FORMATS } from '../output/output-format.ts'
import type { ScopeFlags } from '../selection/list-pages.ts'

/** The flags of `orchctl get`. */
export interface GetFlags extends ScopeFlags {
  readonly output?: string
  readonly watch?: boolean
  readonly outputWatchEvents?: boolean
  readonly sortBy?: string
  readonly showLabels?: boolean
  readonly labelColumns?: string
  readonly headers: boolean
  readonly ignoreNotFound?: boolean
  readonly chunkSize: string
  readonly showKind?: boolean
  readonly showManagedFields?: boolean
  readonly raw?: string
}

/** Adds these flags to the command. */
export function addGetFlags(command: Command): void {
  command
    .option('-o, --output <format>', FORMATS)
    .option('-l, --selector <labels>', 'objects with these labels: app=web,tier!=db,env in (a,b)')
    .option('--field-selector <fields>', 'objects with these fields: metadata.name=web')
    .option('-A, --all-namespaces', 'objects of all namespaces')
    .option('-w, --watch', 'then print every change, also after an outage of the server')
    .option('--output-watch-events', 'with --watch: name each change ADDED, MODIFIED or DELETED')
    .option('--sort-by <path>', 'sort by a field: .metadata.creationTimestamp')
    .option('--show-labels', 'a last column with all labels')
    .option('-L, --label-columns <keys>', 'a column for each of these labels, separated by commas')
    .addOption(new Option('--no-headers', 'no line with the names of the columns'))
    .option('--ignore-not-found', 'an object that does not exist is no error')
    .option('--chunk-size <count>', 'objects in one request; 0: all', '500')
    .option('--show-kind', 'names with their resource')
    .option('--show-managed-fields', 'with yaml and json: the managed fields, too')
    .option('--raw <path>', 'the answer of the server to GET of this path, as it is')
}
