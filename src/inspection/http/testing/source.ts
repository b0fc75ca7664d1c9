import type { InspectionSource } from '../../inspection-source.ts'

/** A source for tests; `changes` replaces parts of it. */
export function fakeSource(changes: Partial<InspectionSource> = {}): InspectionSource {
  return {
    status: () => ({ version: '1.2.3', mode: 'some-mode', isReady: true, startedAt: 7n }),
    entries: () => [],
    async *traffic() {},
    explain: () => ({}),
    async *documents() {},
    watchChanges: () => () => undefined,
    ...changes,
  }
}
