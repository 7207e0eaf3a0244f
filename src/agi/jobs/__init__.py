"""Commands that outlive the call that started them: kept, listened to, waited for, ended."""
