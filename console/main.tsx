import { createRoot } from 'react-dom/client'
import { askOtherTabs, takeToken } from './api/token.ts'
import { App } from './app.tsx'
import { listenToServer } from './live.ts'
import { applyTheme } from './theme.ts'
import './styles/colours.css'
import './styles/base.css'
import './styles/frame.css'
import './styles/states.css'
import './styles/sessions.css'
import './styles/session.css'
import './styles/timeline.css'
import './styles/machines.css'
import './styles/inbox.css'
import './styles/contract.css'
import './styles/plan.css'
import './styles/narrow.css'

takeToken()
applyTheme()
await askOtherTabs()
void listenToServer()
createRoot(document.getElementById('root') as HTMLElement).render(<App />)
