import { databaseCases } from './database.mjs'

databaseCases(['ts'])
