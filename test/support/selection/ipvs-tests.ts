import type { LongTests } from './long-tests.ts'

/**
 * Test files that `npm test` and `npm run test:long` leave to `npm run test:ipvs`, the whole of project ipvs: a page that
 * a process in User-mode Linux touches first costs a quarter of a millisecond on a machine whose own pages are
 * virtual, so a daemon starts there in fourteen seconds and a file takes minutes. What is listed here is decided
 * alike in a mode whose tests need no other kernel, or by code that has tests of its own.
 */
export const IPVS_TESTS: readonly LongTests[] = []
