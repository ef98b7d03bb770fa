import { cliPage } from './cli-page.ts'
import { faultsPage } from './faults-page.ts'
import { httpPage } from './http-page.ts'
import { machinesPage } from './machines-page.ts'
import type { Page } from './page.ts'
import { plansPage } from './plans-page.ts'
import { streamsPage } from './streams-page.ts'

/** Every page that is written from the sources. A new page is a new entry here. */
export const pages: readonly Page[] = [machinesPage, faultsPage, cliPage, httpPage, streamsPage, plansPage]
