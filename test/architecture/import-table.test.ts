import { expect, test } from 'vitest'
import { importFault } from './import-table.ts'
import { importsOf } from './module-import.ts'
import { readSources } from './source-file.ts'

test('every import of src is allowed by the table of docs/design/modules.md', async () => {
  const sources = await readSources('src')
  expect(sources.flatMap(importsOf).map(importFault).filter(Boolean)).toEqual([])
})

const faulty: readonly (readonly [path: string, text: string])[] = [
  ['src/lib/a.ts', "import { parse } from '../resources/service.ts'"],
  ['src/settings/a.ts', "import { FIELDS } from '../nodeproxy/config/fields/index.ts'"],
  ['src/cluster/a.ts', "import type { Entry } from '../forwarding/entry.ts'"],
  ['src/forwarding/a.ts', "export * from '../kernel/ipset/sets.ts'"],
  ['src/forwarding/a.ts', "export { type A } from '../modes/mode.ts'"],
  ['src/modes/iptables/a.ts', "import type { Service } from '../../resources/types.ts'"],
  ['src/modes/iptables/a.ts', "import { virtualServer } from '../ipvs/render.ts'"],
  ['src/modes/ipvs/a.ts', "import { ipvs } from './driver/definition.ts'"],
  ['src/modes/ipvs/driver/a.ts', "import { render } from '../../iptables/render.ts'"],
  ['src/modes/ipvs/driver/a.ts', "import { ipvs } from '../../userspace/driver/definition.ts'"],
  ['src/modes/definition/a.ts', "import { ipvs } from '../ipvs/driver/definition.ts'"],
  ['src/modes/netfilter/a.ts', "import { render } from '../iptables/render.ts'"],
  ['src/modes/mode.ts', "import { Spawner } from '../kernel/spawner/spawner.ts'"],
  ['src/sync/a.ts', "const mode = await import('../modes/iptables/mode.ts')"],
  ['src/sync/a.ts', "let mode: import('../modes/iptables/mode.ts').IptablesMode"],
  ['src/watch/a.ts', "import '../nodeproxy/main.ts'"],
  ['src/nodeproxy/a.ts', "import { listen } from '../apiserver/server.ts'"],
  ['src/dns/a.ts', "import { open } from '../storage/store.ts'"],
  ['src/cellar/a.ts', "import { hash } from '../lib/hash.ts'"],
  ['src/lib/a.ts', "import { root } from '../../test/architecture/source-file.ts'"],
]

test.each(faulty)('%s: %s is found', (path, text) => {
  expect(importsOf({ path, text }).map(importFault)).toEqual([expect.stringContaining(path)])
})

const fine: readonly (readonly [path: string, text: string])[] = [
  ['src/modes/ipvs/driver/a.ts', "import { IpvsMode } from '../mode.ts'"],
  ['src/modes/ipvs/driver/a.ts', "import { duration } from '../../../settings/scalar-types.ts'"],
  ['src/modes/ipvs/a.ts', "import { mark } from '../netfilter/mark.ts'"],
  ['src/modes/ipvs/a.ts', "import type { Mode } from '../mode.ts'"],
  ['src/nodeproxy/a.ts', "import { IpvsMode } from '../modes/ipvs/mode.ts'"],
  ['src/orchserver/a.ts', "import { settingsTable } from '../settings/table.ts'"],
  ['src/sandbox/a.ts', "import { listen } from '../apiserver/server.ts'"],
  ['src/client/a.test.ts', "import { listen } from '../apiserver/server.ts'"],
  ['src/lib/a.ts', "import { readFile } from 'node:fs/promises'"],
]

test.each(fine)('%s: %s is allowed', (path, text) => {
  expect(importsOf({ path, text }).map(importFault)).toEqual([undefined])
})
